"""What TFJobs and PyTorchJobs become: pods, services, gangs and a status."""
