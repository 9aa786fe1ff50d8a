import { text } from 'node:stream/consumers'
import type { Static, TObject } from 'typebox'
import { Fault, wrongUsage } from '../kernel/base/errors.ts'
import { ownVersion } from '../kernel/base/version.ts'
import { Type } from '../kernel/cli/args.ts'
import { type Command, defineCommand } from '../kernel/cli/command.ts'
import { type AgentStart, enrollAgent, startAgent } from './main.ts'

const commonArgs = {
  config: Type.Optional(Type.String({ description: 'TOML configuration of the agent.' })),
  bundle: Type.Optional(Type.String({ description: 'The bundle file; default: <state dir>/bundle.json.' })),
  state_dir: Type.Optional(Type.String({ description: 'Directory of rules, journal and bundle.' }))
}

type CommonArgs = Static<TObject<typeof commonArgs>>

const startOf = (args: CommonArgs, env: AgentStart['env']): AgentStart => ({
  file: args.config ?? null,
  env,
  stateDir: args.state_dir,
  bundleFile: args.bundle,
  version: ownVersion()
})

export const commands: readonly Command[] = [
  defineCommand({
    name: 'agent enroll',
    summary: 'Enroll this machine as a client, with the URI from sluice client enroll.',
    args: Type.Object({
      uri: Type.Optional(
        Type.String({
          description: 'svc://..., or - to read it from standard input; default: SVC_ENROLL_URI.'
        })
      ),
      ...commonArgs
    }),
    positional: ['uri'],
    needs: 'nothing',
    async run({ args, env, input, print, signal }) {
      const source = args.uri ?? env['SVC_ENROLL_URI']
      if (source === undefined)
        throw new Fault(wrongUsage, 'give the URI, - to read it from standard input, or set SVC_ENROLL_URI')
      const uri = source === '-' ? await text(input) : source
      const { token: _, ...shown } = await enrollAgent(startOf(args, env), uri, signal)
      print.data(shown, ['client_id', 'client_name', 'server_endpoint'])
    }
  }),
  defineCommand({
    name: 'agent run',
    summary: 'Run the agent: forward traffic until stopped.',
    args: Type.Object(commonArgs),
    needs: 'nothing',
    until: 'stopped',
    run: ({ args, env, signal: stop, forceSignal: cut, onReload }) =>
      startAgent(startOf(args, env), env['SVC_ENROLL_URI'], { stop, cut, onReload })
  })
]
