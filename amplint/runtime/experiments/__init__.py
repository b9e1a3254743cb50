"""What shows without a path through the code? One small experiment a module.

Args:
    before: the file as it stands.
    after: the file with the fix.
    diagnostic: the finding.
    measure: one of those named in `amplint.model.observables`.
    device: one of `amplint.runtime.devices`.
    seed: of models and data.
"""
