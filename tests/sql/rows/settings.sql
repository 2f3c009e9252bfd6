-- SET and RESET of Flink's keys
SET 'execution.runtime-mode' = 'sometimes';
--! Invalid value 'sometimes' for option 'execution.runtime-mode'
SET 'pipeline.name' = 'p';
--> pipeline.name | p
RESET 'pipeline.name';
