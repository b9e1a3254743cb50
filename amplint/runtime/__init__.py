"""What really happens: training steps observed, replayed and measured. The only package of amplint that imports torch."""
