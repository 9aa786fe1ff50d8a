import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'

const work = () => import('./rotation.ts')

const show = defineCommand({
  name: 'cert show',
  summary: 'Show the certificate that agents pin, and the next one; the server may run.',
  needs: 'data',
  run: async call => (await work()).show(call)
})

const reissue = defineCommand({
  name: 'cert reissue',
  summary: 'Make a new certificate, or stage it as the next one; the server must be stopped.',
  args: Type.Object({
    san: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Names and addresses that the certificate covers besides this host.'
      })
    ),
    rotate: Type.Optional(
      Type.Boolean({
        description: 'Stage it as the next one; cert activate switches to it when the clients trust it.'
      })
    ),
    from: Type.Optional(
      Type.String({ description: 'PEM file of your own certificate, with or without its key.' })
    ),
    key: Type.Optional(Type.String({ description: 'PEM file of the key, if it is not in --from.' }))
  }),
  needs: 'data',
  async run(call) {
    const { san, rotate, from, key } = call.args
    if ((san === undefined) === (from === undefined))
      throw new Fault(wrongUsage, 'give either --san NAME... or --from FILE')
    const source =
      from === undefined ? { names: san ?? [] } : { from: { certPath: from, keyPath: key ?? from } }
    await (await work()).reissue(call, source, rotate === true ? 'rotate' : 'replace')
  }
})

const activate = defineCommand({
  name: 'cert activate',
  summary: 'Switch to the staged certificate; the server must be stopped.',
  args: Type.Object({
    force: Type.Optional(
      Type.Boolean({
        description:
          'Switch even if clients do not know it: they must be enrolled again. None staged: accept the one in use.'
      })
    )
  }),
  needs: 'data',
  run: async call => (await work()).activate(call, call.args.force === true)
})

export const commands = [show, reissue, activate]
