import type { Static, TObject } from 'typebox'
import { Type } from '../../kernel/cli/args.ts'
import { type ConfigSources, readAgentConfig } from '../config.ts'

/** Arguments of every command that asks a running agent. */
export const runningArgs = {
  config: Type.Optional(Type.String({ description: 'TOML configuration of the agent.' })),
  state_dir: Type.Optional(Type.String({ description: 'State directory of the agent that runs.' }))
}

type Given = Static<TObject<typeof runningArgs>>

/** Returns the state directory that the agent with this configuration uses. Throws Fault. */
export const stateDirOf = ({ config, state_dir: stateDir }: Given, env: ConfigSources['env']): string =>
  readAgentConfig({ file: config ?? null, env, stateDir }).state_dir
