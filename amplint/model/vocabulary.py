"""The words of training code: what names say where nothing better tells. Each list of words stands here, once.

Patterns are searched for in an identifier or a path, or in the words of an expression joined by blanks; where it says so, they
are matched from the start. What torch itself calls things stands in `names`.
"""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# -- what goes wrong ---------------------------------------------------------------------------------------------------

IS_FINITE = _any(r"is_?(finite|nan|inf(?!er|o))")
"""Functions that ask whether numbers are finite."""
FINITE = _any(IS_FINITE.pattern, r"finite|(has|found)_?(nan|inf(?!er|o))|(^|[\W_])nans?(?![a-z])|overflow")
"""What asks for inf and NaN, or clears them away."""
STEP_GATE = _any(FINITE.pattern, r"get_scale|skip|_opt_called|_step_count|was_step|stepped|did_step|step_taken")
"""What asks whether a scaler will take a step, or has taken it."""
TROUBLE = _any(
    r"(is|has|found)_?(nan|inf(?!er|o))|overflow|skip",
    r"(^|[\W_])(nan|inf|bad|invalid|broken|corrupt\w*|explod\w*|anomal\w*)([\W_]|$)",
)
"""What is true where a step or a batch is to be left out."""


def asks_for_step(text: str) -> bool:
    """Whether the words of a condition ask whether a scaler will take a step, or has taken it.

    A finite loss says nothing about gradients, which overflow later and more easily.
    """
    about_loss = IS_FINITE.search(text) and "loss" in text.lower() and "grad" not in text.lower()
    return STEP_GATE.search(text) is not None and not about_loss


BEFORE = _any("prev|old|before|last|orig|start")
"""What something from before a step is called."""

COUNTER = re.compile(
    r"(^|_)(i|j|k|n|t|it|itr|iter|iters|iteration|iterations|step|steps|idx|index|batch_(id|i|no|nb|num)|epoch|epochs|count|"
    r"counter|cnt|updates?|nb|ni|round|tick)$|[a-z](Step|Iter|Idx|Index|Epoch|Count)$"
)
"""What counts the steps, iterations or epochs of a run is called."""
COUNT_OPTION = re.compile(
    r"max|total|warm|every|freq|interval|period|accum|limit|until|per_|_per|decay|grad_|log_|save_|eval_|print|delay|start|"
    r"(^|_)(end|n)(_|$)|num_(steps|iters|epochs|iterations|batches)|[a-z](steps|iters|iterations|epochs)$"
)
"""What options are called that say up to which count, or at which counts, something happens."""
LAST_BATCH = re.compile(r"^_?(is_|at_|on_)?(the_)?last_(batch|minibatch|iter|iteration)(_of_epoch|_in_epoch)?$")
"""What a flag is called that says whether a batch is the last one of its epoch."""

# -- objects -----------------------------------------------------------------------------------------------------------

SCALER = _any(r"(^|_)(grad_?|loss_|amp_|fp16_)?scaler(s|_\w+)?$")
"""What a scaler is called."""
SCALER_STATE = _any(r"scaler|(^|[_.])amp(_|$)|grad_?scale")
"""What a key or a parameter for the state of a scaler is called."""
SCALER_ITSELF = _any("scaler|grad_?scale")
"""Of these, what no flag is called: `args.amp` says whether there is a scaler."""
OF_SCALERS = frozenset({"scale", "unscale_", "step", "update"})
"""The methods by which a scaler takes part in the protocol."""
STATE = _any("state")
"""What the state of an object is called."""
OPTIMIZER = _any(
    r"^(?!.*(param|_weights))(?!.*_(steps?|count|idx|index|name|type|state|kwargs|config|cfg)$)"
    r"(.*_)?((optim(izer)?s?|opt)(\d|_|$)|.*optimizer)"
)
"""What an optimizer is called."""
OPTIMIZER_MAKER = re.compile(
    r"^[A-Z]\w*(Optim|Adam|SGD|Lamb)|^(Adam|SGD|Lion|Lamb|RMSprop|Adagrad|Adafactor|Muon|LBFGS|Optim)|"
    r"^_?(build|create|make|get|init|setup|configure|construct|load)\w*optim"
)
"""Classes and functions that return optimizers."""
DRIVES = frozenset(
    "optimize_parameters update_learning_rate update_learning_rates update_lr update_lr_scheduler update_lr_schedulers "
    "update_scheduler update_schedulers step_lr_scheduler step_scheduler step_schedulers".split()
)
"""Methods by which scripts drive an object of another file, which has the scaler, the optimizers and the schedules."""
SCHEDULER = _any(r"(^|_)((lr_?)?sched(uler)?s?|lrs)(\d|_|$)")
"""What a scheduler is called."""
RATE_CLASS = re.compile(r"LR|Lr(?![a-z])|Sched|Anneal|Warm")
"""What classes of schedulers are called."""
SCHEDULE_CLASS = re.compile(r"LR|Sched|Anneal|Warm|Scaler|Optim")
"""What classes of schedulers, scalers and optimizers are called."""
NOT_RATE = _any(
    r"noise|(^|_)loss|ddpm|ddim|diffusion|beta|momentum|weight_decay|(^|_)wd|temp|ema|(^|_)kl|tau|mask|alpha|margin|sigma|task|plateau|prof|coef"
)
"""Of schedulers: of something else than the learning rate."""
FRAMEWORK = re.compile(r"^(accelerator|fabric|engine|model_engine|trainer|booster|strategy|xm|ds_engine|loss_scaler)$")
"""Objects of libraries that drive the loop, or scale and step, themselves."""
HANDED_OUT = re.compile(
    r"^(prepare(_(model|optimizer|scheduler|data_loader))?|setup(_(module|optimizers|dataloaders))?|initialize|boost)$"
)
"""What libraries call the methods that return what they were given, wrapped."""
UNWRAPS = re.compile(r"(^|_)unwrap(_(model|ddp|distributed|module|parallel))?$|(de|un)_?parallel(i[sz]e)?(_model)?$")
"""What functions are called that give back the model in the wrapper that they are given."""
MODEL = _any(
    r"(^|[\W_])(models?|nets?|networks?|generator|discriminator|critic|classifier)(_|\d|$)|(^|[\W_])net(?-i:[A-Z])$"
)
"""What a whole model is called."""
PASSES = re.compile(r"^_?(forward|encode|decode|embed|extract|infer|predict)|inference|logits$|features$")
"""What methods of a model are called that compute with its layers."""
HAS_MODEL = _any(r"model|net(\d|_|$)|module|fsdp|ddp", MODEL.pattern)
"""What may hold a model, or be a part of one."""
WEIGHTS = _any(r"(^|_)(module|ema|weights?|state_?dict|params)(_|$)", MODEL.pattern)
"""The keys under which a checkpoint holds weights."""
HAS_GRADIENTS = _any(r"(^|_)(params?|parameters|grads|gradients|module)$", MODEL.pattern)
"""What reaches the gradients of parameters."""
LOSS = _any("loss|criterion|objective")
"""What a loss is called, and what computes one."""
MAYBE_LOSS = _any(LOSS.pattern, "scaled|err|obj|cost")
"""What a value that may be a loss is called."""
_ACTS = (
    r"train|step|updat|optim|backward|scal|clip|log(?![a-z])|save|load|report|print|fit(?![a-z])|run(?![a-z])|set_|reset|fp16|"
    r"(?<![a-z])amp(?![a-z])"
)
"""What does something to its objects, besides computing."""
_MODEL = (
    r"(\w+_)?(model|net|network|generator|discriminator|critic|classifier|encoder|decoder|backbone|teacher|student)"
    r"(_?[A-Za-z]|_\w+|\d)?|vgg\d*|lpips"
)
"""What models and their parts are called."""
_OBJECTIVE = r"forward|cri(terion)?([A-Z_]\w*|\d)?|(\w+_)?loss(es)?([A-Z_]\w*|\d)?"
"""What computes a loss is called."""
MODEL_OR_LOSS = re.compile(rf"^_?(?!.*({_ACTS}))({_MODEL}|{_OBJECTIVE})$")
"""What an object calls its model, and its loss, where nobody sees whether they are attributes or methods."""
MASK = _any(r"mask|(^|_)pad(ding|ded|s)?(_|$)")
"""What tensors of zeros and ones are called, which choose among elements."""
TEMPERATURE = re.compile(r"(^|[_.])(tau|temp|temperature)$|(^|_|\b(self|args|opts?|options|cfg|config|hparams)\.)T$")
"""What logits are divided by, which is a number where nothing else is known of it."""
LOSS_FACTOR = re.compile(r"\w*(weight|coef|coeff|factor|ratio|lambda)s?(?!\w)", re.IGNORECASE)
"""A name, in a path, of what losses are multiplied by."""

# -- precision and hardware --------------------------------------------------------------------------------------------

HALF = _any("half|b?fp?_?16|b?float_?16|bfloat")
"""What speaks of a half precision."""
PRECISION = _any(HALF.pattern, "dtype|prec(ision)?(?![a-z])")
"""What speaks of some precision."""
PRECISION_VALUE = _any(PRECISION.pattern, r"(^|\W)16(\W|$)")
"""What an option for a precision is called, or set to."""
PRECISION_CHOICE = _any(PRECISION.pattern, "(?<![a-z])amp(?![a-z])|hardware|rocm")
"""What a condition, or the name of a function, says where somebody has chosen a precision."""
AMP_FLAG = _any(
    r"^(?!.*apex).*((^|_)(amp|fp16|half|autocast|scaler|mixed|mixed_precision|float16)(_|$)|use_?amp|grad_?scaler|mixed_?prec)"
)
"""What a flag is called that is set where AMP is on, and is not apex's."""
AMP_VALUE = _any(r"fp16|float16|half|16-mixed|(^|\W)amp|mixed|native|^16$|^o[123]$")
"""Values of an option that say that AMP is on."""
UNSCALED_VALUE = _any(r"(bf(loat)?_?16|fp8|float8|16(?=-true)|^64)(-(mixed|true))?", r"^b(f(loat)?)?$")
"""Values of an option that name a precision in which nothing is scaled, and which is not full either; also how they begin."""
UNSCALED_FLAG = _any(r"^(use_|is_|with_|enable_|run_in_)*(bf16|bfloat16)(_run|_training|_enabled|_mode|_amp)?$")
"""What a flag is called that is set where a run is in bfloat16."""
FULL_VALUE = _any("fp32|float32|^32|full|single|^no(ne)?$|32-true|^o0$")
"""Values of an option that say that it is off."""
DEVICE = _any("cuda|cpu|gpu|device")
"""What speaks of a kind of device."""
DEVICE_PLACE = _any(DEVICE.pattern, r"(^|[\W_])dev([\W_\d]|$)|rank|ordinal|place")
"""What a device is called, or its number."""
HARDWARE = _any(DEVICE.pattern, "support|capab|hardware|arch|rocm|ampere")
"""What speaks of what a device can do."""

# -- what calls do -----------------------------------------------------------------------------------------------------

SHOWS = re.compile(
    r"^(print|write|track|info|debug|warning|log\w*|add_scalars?|add_histogram|Histogram|Distribution|report\w*|record\w*|"
    r"set_postfix\w*|set_description\w*|format|update)$"
)
"""Functions that show or log what they are given."""
KEEPS = frozenset({"append", "extend", "add", "insert"})
"""Methods of containers that take something in."""
SAVES = _any(r"save|dump|checkpoint|ckpt|snapshot|serialize|(^|_)(log|store|write)_(best_|last_)?(model|state)(_|$)")
"""Functions that write a checkpoint, unless they also are `LOADS` or `FINDS`."""
SAVER = _any(r"check_?pointer|(^|_)saver$|(checkpoint|ckpt)(_?manager|_?io|_?handler|_?saver|_?callback)")
"""Objects that save the state of a run."""
LOADS = _any("load|resume|restore|recover|restart|set_state|from_(the_)?(checkpoint|ckpt|snapshot)")
"""Functions that read one, or put back what was read."""
FINDS = _any("exists|remove|latest|find|log$|print|info")
"""Functions that look for one, delete it, or tell of it."""
REPORTERS = _any("log(ger|s)?(_|$)|wandb|mlflow|neptune|comet|clearml|tensorboard|writer|tracker")
"""Objects that tell people about a run."""
METADATA = _any("^(meta(_?data)?|tags|hparams|hyper_?parameters|description|notes)$")
"""Parameters for what is told about a file that is saved."""
LOOKS = _any(
    "log|print|display|repr|describe|summary",
    r"^(len|getsizeof|int|float|abs|round|isinstance|hasattr|getattr|id|type|zip|enumerate|list|tuple|dict|set|str|bool|range|iter|next|cast|sorted|reversed|"
    r"copy|deepcopy|keys|items|info|debug|warning)$",
)
"""Functions that only look at what they are given, or copy it."""
HARMLESS = _any(
    LOOKS.pattern,
    r"save|checkpoint|ckpt|write|dump|format|report|count|info|debug|warning|state_dict|learning_rate|(^|_)lr(_|$)|warm_?up|sched|"
    r"^(wait_for_everyone|barrier|(all_)?gather\w*|pad_across_processes|get_tracker|init_trackers|free_memory|end_training)$|"
    r"^(unwrap_model|to_device|main_process_first|verify_device_map|(set|check)_trigger)$|"
    r"get_scale|_(found|check)_inf_|is_enabled|param_groups|broadcast_optimizer|^(named_)?(buffers|modules|children)$|"
    r"^((named|master|trainable|all|get|iter|fp32|model|optimizer|optim)_)*param(eter)?s$",
    r"(^|_)(timing|timed|timer|stop_?watch|profil(e|er|ing)|nvtx)(_|$)|^Timer$",
)
"""Functions that leave gradients alone."""
CLIPS = _any("clip|max_norm|max_grad")
"""What a factor is called that clips."""
SHARE = _any(
    r"world|ranks?$|gpus?$|nodes?$|proc(esses|s)?$|workers?$|accum|micro|steps?$|period|freq|interval|count|num|size|weight|^(len|float|int|n)$"
)
"""What a factor is called that averages or weighs gradients, and has nothing to do with their scale."""
FLAG = re.compile(r"(?!\w*(type|precision|scale))((use|enable|is|has|do|with|should)_\w+|\w*_enabled|enabled)")
"""The whole name of something that is on or off."""
