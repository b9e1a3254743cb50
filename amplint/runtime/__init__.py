"""What really happens: training steps observed, replayed and measured. Imports torch, as `tracing` and `profile` above it do."""
