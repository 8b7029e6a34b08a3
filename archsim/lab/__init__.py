"""What users ask for, from files to results: runs, sweeps, scenarios, comparisons, verification, validation.

Begin with ``api``, the functions of ``import archsim``, and ``run/job.py``, what is asked of a run.
"""
