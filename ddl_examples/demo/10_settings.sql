-- From here on an INSERT is a continuous query
SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.dir' = '${checkpoints}';
SET 'pipeline.name' = 'revenue-by-country'
