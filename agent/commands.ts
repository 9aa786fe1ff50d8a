import { text } from 'node:stream/consumers'
import { Type } from 'typebox'
import { Fault, wrongUsage } from '../kernel/base/errors.ts'
import { ownVersion } from '../kernel/base/version.ts'
import { type Command, defineCommand } from '../kernel/cli/command.ts'
import { type AgentStart, enrollAgent, startAgent } from './main.ts'

const place = {
  config: Type.Optional(Type.String({ description: 'TOML configuration of the agent.' })),
  bundle: Type.Optional(Type.String({ description: 'Where the identity lies; <state dir>/bundle.json.' })),
  state_dir: Type.Optional(Type.String({ description: 'Where rules and counts are kept.' }))
}

interface Args {
  readonly config?: string
  readonly bundle?: string
  readonly state_dir?: string
}

const startOf = (args: Args, env: AgentStart['env']): AgentStart => ({
  file: args.config ?? null,
  env,
  stateDir: args.state_dir,
  bundleFile: args.bundle,
  version: ownVersion()
})

export const commands: readonly Command[] = [
  defineCommand({
    name: 'agent enroll',
    summary: 'Make this machine a client, with a command from client enroll.',
    args: Type.Object({
      uri: Type.Optional(Type.String({ description: 'svc://..., or - for standard input; SVC_ENROLL_URI.' })),
      ...place
    }),
    positional: ['uri'],
    needs: 'nothing',
    async run({ args, env, input, print, signal }) {
      const given = args.uri ?? env['SVC_ENROLL_URI']
      if (given === undefined) throw new Fault(wrongUsage, 'give the URI, - to read it, or SVC_ENROLL_URI')
      const uri = given === '-' ? await text(input) : given
      const bundle = await enrollAgent(startOf(args, env), uri, signal)
      const { token: _, ...shown } = bundle
      print.data(shown, ['client_id', 'client_name', 'server_endpoint'])
    }
  }),
  defineCommand({
    name: 'agent run',
    summary: 'Forward as the server says, until it is stopped.',
    args: Type.Object(place),
    needs: 'nothing',
    until: 'stopped',
    run: ({ args, env, signal, forceSignal }) =>
      startAgent(startOf(args, env), env['SVC_ENROLL_URI'], { stop: signal, cut: forceSignal })
  })
]
