-- From here on, INSERT starts a streaming job
SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.dir' = '${checkpoints}';
SET 'pipeline.name' = 'revenue-by-country'
