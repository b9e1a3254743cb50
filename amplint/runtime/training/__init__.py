"""What happens when the events of a path happen? Small trainings on real torch objects, with AMP and without."""
