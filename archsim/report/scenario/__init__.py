"""Pages, tables and words of a scenario, from its summary (schema ``archsim.scenario_result/1``) alone."""
