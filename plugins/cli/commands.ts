import { Type } from '../../kernel/cli/args.ts'
import { type Command, defineCommand } from '../../kernel/cli/command.ts'
import { newSecret } from '../../kernel/identity/secret.ts'
import { commands as login } from './api/login.ts'
import { explainError } from './explain-error.ts'
import { completeValues } from './program/complete-values.ts'

export const commands: readonly Command[] = [
  ...login,
  completeValues,
  explainError,
  defineCommand({
    name: 'server',
    summary: 'Run the server: operator API and control stream.',
    args: Type.Object({
      advertised_endpoint: Type.Optional(
        Type.String({ description: 'HOST:PORT at which agents reach the server.' })
      )
    }),
    needs: 'server',
    until: 'stopped',
    async run({ serve, onReload }) {
      const { reload, done } = await serve({ isPatient: true })
      onReload(reload)
      await done
    }
  }),
  defineCommand({
    name: 'config check',
    summary:
      'Check what a start of the server would refuse: file, environment, plugins, certificates, directory, addresses. The server can stay running.',
    examples: ['sluice config check /etc/sluice/server.toml'],
    args: Type.Object({
      file: Type.Optional(
        Type.String({ description: 'The TOML configuration; default: --config, else SVC_CONFIG.' })
      )
    }),
    positional: ['file'],
    needs: 'data',
    async run({ check, print }) {
      await check()
      print.done('the configuration is valid', { valid: true })
    }
  }),
  defineCommand({
    name: 'gen-token',
    summary:
      'Print a new operator token. Set it as operator_token in the configuration or as SVC_OPERATOR_TOKEN.',
    needs: 'nothing',
    async run({ print }) {
      print.value('operator_token', newSecret())
    }
  })
]
