import { Type } from 'typebox'
import { type Command, defineCommand } from '../../kernel/cli/command.ts'
import { newSecret } from '../../kernel/identity/secret.ts'

/** Commands that belong to no feature. */
export const commands: readonly Command[] = [
  defineCommand({
    name: 'server',
    summary: 'Run the server: operator API and control stream.',
    args: Type.Object({
      advertised_endpoint: Type.Optional(
        Type.String({ description: 'HOST:PORT under which agents reach it' })
      )
    }),
    needs: 'server',
    until: 'stopped',
    async run({ serve }) {
      await (await serve({})).done
    }
  }),
  defineCommand({
    name: 'gen-token',
    summary: 'Print a fresh operator token, for the key operator_token or SVC_OPERATOR_TOKEN.',
    needs: 'nothing',
    async run({ print }) {
      print.value('operator_token', newSecret())
    }
  })
]
