"""The pieces of Python and the names that generated mapping files are made of.

Few names, so that they meet: the same tags on jobs and destinations, overlapping patterns, the
same rule ids in several entities.
"""

from __future__ import annotations

from typing import Any

TAGS = ("x", "y", "z", "pulsar")
STRENGTHS = ("require", "prefer", "accept", "reject")
RULE_IDS = ("rule_a", "rule_b", "rule_c")
RUNNERS = ("slurm", "local", "k8s")

TOOL_IDS = (
    *("bwa", "bwa_mem", "bwa_mem2", "hisat2", "t", "a.b", "aXb", "tool_x"),
    *("shed/repos/iuc/fastqc/1.0", "shed/repos/iuc/fastqc/0.9+galaxy1", "default_x", ""),
)
TOOL_KEYS = (
    *("bwa", "bwa_mem", "bwa_mem2", "hisat2", "t", "a.b", "tool_x", ".*", "bwa.*", "bwa_mem\\d"),
    *("(hisat2|tool_x)", "^t$", "[bt].*", "shed/.*/fastqc/.*", "shed/repos/iuc/fastqc/1.0", ".*a"),
)
EMAILS = ("a@x.org", "b@x.org", "admin@y.org", "z")
USER_KEYS = ("a@x.org", "b@x.org", ".*@x.org", "admin@.*", ".*", "a.*")
ROLE_NAMES = ("r1", "r2", "train-1", "staff")
ROLE_KEYS = ("r1", "r2", "r.*", "train-.*", "staff", ".*", "trai*")
DESTINATION_KEYS = ("d1", "d2", "big", "gpu", "pulsar", "local")
BASES = ("_base", "_small", "_large")  # parents; no tool, user or role is called so

NUMBER_NAMES = ("factor", "SIZE", "_limit")
CONTEXT_NAMES = (*NUMBER_NAMES, "label")

CORES = (
    *(
        "2*4",
        "4 if input_size > 5 else 2",
        "min(8, factor * 2)",
        "int(input_size) + 1",
        "len(tool.id)",
    ),
    *("max(1, factor)", "x = 3\nx * 2", "8 if helpers.input_size(job) > 2 else 3", "2.5", "SIZE"),
    *("4 if user and user.email.startswith('a') else 2", "4 if entity.gpus else 1", "_limit - 1"),
    *("if input_size > 1:\n    n = 6\nelse:\n    n = 2\nn", "round(1.5 * factor)", "sum([1, 2])"),
    "4 if helpers.tag_values_match(entity, ['x'], []) else 2",
)
ODD_CORES = (
    "'4'",
    "None",
    "True",
    "gpus * 2",
    "mem",
    "undefined_name",
    "max_cores * 2",
    "min_cores",
    "0",
    "-1",
    "cores + 1",
)
MEM = (
    *(
        "cores*4",
        "cores * 3.8",
        "min(cores*4, 64)",
        "input_size * 2 + 1",
        "cores*factor",
        "SIZE * 2",
    ),
    *("8 if input_size < 3 else cores * 8", "entity.cores", "cores ** 2", "max(2, input_size)"),
)
GPUS = ("1 if input_size > 5 else 0", "int('bwa' in tool.id)", "factor - 1")
MINIMA = ("factor", "1 + 1", "2 if input_size > 1 else 0")
MAXIMA = ("factor * 2", "SIZE", "16 if input_size > 3 else 4")

CONDITIONS = (
    *(
        "True",
        "False",
        "input_size > 5",
        "input_size >= 0.5 and entity.mem",
        "(entity.cores or 0) == 4",
    ),
    *(
        "factor > 2",
        "'bwa' in tool.id",
        "user and user.email == 'a@x.org'",
        "entity.gpus",
        "not user",
    ),
    *(
        "user is not None and 'r1' in [r.name for r in user.all_roles()]",
        "0",
        "[1]",
        "label == 'b'",
    ),
    *("helpers.tag_values_match(entity, ['x'], ['y'])", "entity.params and 'a' in entity.params"),
    *("limit = 3\ninput_size > limit", "helpers.job_args_match(job, app, {'mode': 'fast'})", "''"),
    *("job.get_param_values(app).get('mode') == 'fast'", "'y' in (entity.tpv_tags.prefer or [])"),
    *("def large(n):\n    return n > 2\nlarge(input_size)", "entity.context.get('factor', 0) > 1"),
    *("entity.tpv_tags.match(entity.tpv_tags)", "entity.tpv_tags.score(entity.tpv_tags) > 4"),
    *("type(entity).__name__ == 'User'", "any(t.value == 'x' for t in entity.tpv_tags.tags)"),
    *("'Rule' in entity.id", "self is entity", "'cores' in globals()", "len(entity.env or []) > 1"),
    *(
        "'gpus' in locals()",
        "helpers.tool_version_gte(tool, '1.0')",
        "isinstance(entity.cores, int)",
    ),
)
ODD_CONDITIONS = (
    "cores > 2",
    "entity.cores > 2",
    "undefined_name",
    "x = 1",
    "input_size > ",
    "1/0",
)
DESTINATION_CONDITIONS = (
    *("cores > 2", "mem < 16", "input_size > 3", "True", "entity.cores", "'gpus' in globals()"),
    *("factor == 3", "'x' in (entity.tpv_tags.require or [])", "type(entity).__name__ == 'Tool'"),
)

_TAG_TYPE = "from tpv.core.entities import TagType\n"
_TAGS = "from tpv.core.entities import SchedulingTags, Tag, TagType\n"
_SET = _TAGS + "entity.tpv_tags = "
TAG_EXECUTES = (
    _SET + "entity.tpv_tags.combine(SchedulingTags(accept=['pulsar'], prefer=['x']))",
    _SET + "SchedulingTags(require=['x'], accept=['y']).combine(entity.tpv_tags)",
    _SET + "entity.tpv_tags.inherit(SchedulingTags(require=['pulsar'], accept=['x', 'z']))",
    _SET + "SchedulingTags(prefer=['z']).inherit(entity.tpv_tags)",
    _SET + "SchedulingTags(accept=list(entity.tpv_tags.all_tag_values()))",
    _TAGS + "more = SchedulingTags(require=['z'], reject=['y'])\n"
    "if entity.tpv_tags.can_combine(more):\n    entity.tpv_tags = entity.tpv_tags.combine(more)\n"
    "else:\n    entity.params['clash'] = 'yes'",
    _TAGS + "entity.params['match'] = str(entity.tpv_tags.match(SchedulingTags(prefer=['x'])))",
    _TAGS + "entity.params['score'] = str(entity.tpv_tags.score(SchedulingTags(require=['x'])))",
    _TAGS + "first = next(iter(entity.tpv_tags.tags), None)\n"
    "if first is not None:\n    entity.tpv_tags.add_tag_override(TagType.ACCEPT, first.value)\n"
    "    entity.params['first'] = str(first == Tag(first.value, first.tag_type))",
    _TAGS + "for value in list(entity.tpv_tags.accept or []):\n"
    "    entity.tpv_tags.add_tag_override(TagType.PREFER, value)",
    "entity.tpv_tags.prefer = None",
    "accepted = [tag for tag in entity.tpv_tags.accept or [] if tag != 'pulsar']\n"
    "entity.tpv_tags.accept = [*accepted, 'pulsar']",
    "fits = [d.id for d in mapper.destinations.values() if not d.abstract]\n"
    "entity.params['fits'] = ' '.join(fits)",
)
EXECUTES = (
    *(
        "entity.cores = 8",
        "entity.mem = '{}'.format(6)",
        "entity.mem = 'cores * 5'",
        "entity.gpus = 1",
    ),
    *(
        "entity.params['from_rule'] = '{cores}'",
        "entity.env.append({'name': 'E', 'value': '{mem}'})",
    ),
    *("entity.context['factor'] = 7", "entity.max_cores = 2", "entity.min_mem = 3", "nothing = 1"),
    *("entity.params.pop('a', None)", "entity.env = []", "entity.cores = None", "entity.cores = 0"),
    *("entity.tpv_tags.reject.append('q')", "entity.tpv_tags.require = []", "entity = None"),
    *("if input_size > 3:\n    entity.cores = 12\n    entity.params['big'] = 'yes'", "cores = 99"),
    *("entity.params = {'only': '{entity.id}'}", "entity.rank = 'list(candidate_destinations)'"),
    _TAG_TYPE + "entity.tpv_tags.add_tag_override(TagType.REQUIRE, 'x')",
    _TAG_TYPE + "entity.tpv_tags.add_tag_override(TagType.PREFER, 'pulsar')",
    _TAG_TYPE + "for t in list(entity.tpv_tags.filter(tag_type=TagType.REQUIRE)):\n"
    "    entity.tpv_tags.add_tag_override(TagType.ACCEPT, t.value)",
    "for name in ('a', 'b'):\n    entity.params['p_' + name] = name + '{mem}'",
    "entity.resubmit['late'] = {'condition': 'any_failure', 'destination': 'd1'}",
    *TAG_EXECUTES,
)
_MAPPER = "from galaxy.jobs.mapper import "
WAIT = _MAPPER + "JobNotReadyException\nraise JobNotReadyException()"
REFUSE = _MAPPER + "JobMappingException\nraise JobMappingException('refused by code')"
ODD_EXECUTES = (
    _SET + "entity.tpv_tags.combine(SchedulingTags(require=['x'], reject=['y', 'z']))",
    "entity.tpv_tags.no_such_method()",
    WAIT,
    REFUSE,
    "raise ValueError('no')",
    "del entity.params['nope']",
    "entity.cores +",
)
_NEXT = "from tpv.core.entities import TryNextDestinationOr"
NEXT_OR_FAIL = _NEXT + "Fail\nraise TryNextDestinationOrFail('busy')"
NEXT_OR_WAIT = _NEXT + "Wait as Wait\nraise Wait('later')"
NEXT_IF_LARGE = _NEXT + "Fail as Fail\nif mem > 8:\n    raise Fail('large')"
FAILS = (
    *("no {tool.id} for {user.email if user else 'nobody'}", "too large: {input_size}", ""),
    *("plain words", "{entity.id} wants {entity.cores}", "{{braces}} {label}"),
)
ODD_FAILS = ("{undefined_name}", "ends with a quote'")

_BY = "sorted(candidate_destinations, key=lambda d: "
RANKS = (
    *(_BY + "d.score(entity), reverse=True)", _BY + "d.id)", _BY + "d.id, reverse=True)"),
    *(_BY + "(d.max_accepted_mem or 0, d.id))", _BY + "-(d.context or {}).get('weight', 0))"),
    *(
        "list(reversed(candidate_destinations))",
        "candidate_destinations[:1]",
        "candidate_destinations",
    ),
    "[d for d in candidate_destinations if (d.max_accepted_cores or 99) >= cores]",
    "weights = {d.id: len(d.id) for d in candidate_destinations}\n" + _BY + "weights[d.id])",
    "log.info('ranking')\n" + _BY + "len(d.tpv_dest_tags.prefer or []))",
    "[d for d in candidate_destinations if helpers.tag_values_match(entity, ['x'])]",
    "def key(d):\n    return (-d.score(entity), d.id)\nsorted(candidate_destinations, key=key)",
    _BY + "(d.runner or '', d.dest_name)) if input_size > 2 else candidate_destinations",
    _BY + "-d.tpv_dest_tags.score(entity.tpv_tags))",
    "[d for d in candidate_destinations if entity.tpv_tags.match(d.tpv_dest_tags)]",
    "asked = entity.model_copy(update={'cores': cores, 'mem': 1, 'gpus': None})\n"
    "[d for d in candidate_destinations if d.matches(asked, {})]",
)
ODD_RANKS = (
    *("[]", "None", "candidate_destinations * 2", "candidate_destinations[0]", "undefined_name"),
    "[d for d in mapper.destinations.values() if not d.abstract]",
)

TEXTS = (
    *(
        "plain",
        "{cores}",
        "{mem}",
        "{int(mem)}",
        "-n {cores} --mem {round(mem * 1024)}",
        "{tool.id}",
    ),
    *(
        "{user.email if user else 'anon'}",
        "{label}",
        "{factor * 2}",
        "{{literal}}",
        "it's",
        "a\\tb",
    ),
    *(
        "two\nlines",
        "",
        "{input_size:.1f}",
        "{entity.cores}",
        "{SIZE}:{_limit}",
        "{entity.id}",
        "ü",
    ),
    *("{'high' if cores > 4 else 'low'}", "{entity.tpv_tags.require}", "{type(entity).__name__}"),
    *("{len(entity.params or {})}", "{entity.context}", "{self.id}", "{' '.join(sorted('ba'))}"),
    "{[t.value for t in entity.tpv_tags.tags]}",
)
ODD_TEXTS = (
    "{gpus}",
    "{max_cores}",
    "{undefined_name}",
    "{env}",
    "{params}",
    "{dest_name}",
    "{min_mem}",
)
VALUES: tuple[Any, ...] = (
    1,
    0,
    2.5,
    True,
    False,
    None,
    [1, "{cores}"],
    {"deep": "{mem}", "n": 3},
    [],
    {},
    ["{label}"],
)
