// RUN: inarch-opt --list-passes --load %S/Inputs/crash_demo.py | filecheck %s --check-prefix=PASSES
// RUN: inarch-opt --list-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: inarch-opt --load %S/Inputs/refuse_demo.py --pass-help refuse-demo | filecheck %s --check-prefix=PASS
// RUN: inarch-opt --pass-help canonicalize | filecheck %s --check-prefix=THEIRS
// RUN: inarch-opt --help | filecheck %s --check-prefix=HELP
// RUN: inarch-opt --version | filecheck %s --check-prefix=VERSION
// RUN: not inarch-opt --load %S/Inputs/broken_demo.py 2>&1 | filecheck %s --check-prefix=BROKEN

// PASSES: fold-constants Replaces ops on constants by constants. [inarch.passes.graph.fold_constants]
// PASSES: crash-demo Raises a TypeError; `message` is its text. [{{.*}}crash_demo.py]
// Of xDSL's those that need no dialect that is not here.
// PASSES-NOT: {{^}}{{(apply-pdl|convert-|lower-affine|test-|x86)}}
// PASSES: canonicalize Applies all canonicalization patterns. [xdsl.transforms.canonicalize]
// PASSES-NOT: {{^}}{{(apply-pdl|convert-|lower-affine|test-|x86)}}
// PASSES: scf-for-loop-flatten
// PASSES-NOT: {{^}}{{(apply-pdl|convert-|lower-affine|test-|x86)}}

// DIALECTS: graph `graph`: whole tensors with value semantics
// DIALECTS: func [xdsl.dialects.func]

// PASS: refuse-demo (inarch_loaded_refuse_demo)
// PASS: Raises at the first add.
// PASS: With `xdsl` the error is xDSL's, without a location.
// PASS: Options:
// PASS-NEXT: xdsl: bool (default false)
// PASS-NEXT: limits: tuple[int, ...] (default (1, 2))
// PASS-NEXT: label: str|None (default none)

// THEIRS: canonicalize (xdsl.transforms.canonicalize)
// THEIRS: Applies all canonicalization patterns.

// HELP: usage: inarch-opt
// HELP: --split-input-file
// HELP: example:
// HELP: inarch-opt model.mlir -p

// VERSION: inarch-opt {{[0-9]+\.[0-9]+\.[0-9]+}}

// BROKEN: error: --load: {{.*}}broken_demo.py:{{[0-9]+}} fails: RuntimeError: boom
