"""The documents' quick start on a local cluster: from the installation to a job that has its data beside it."""
