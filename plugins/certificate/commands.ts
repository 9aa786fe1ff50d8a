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

const rotate = defineCommand({
  name: 'cert rotate',
  summary: 'Replace the self-made certificate of a running server as soon as all clients trust the new one.',
  args: Type.Object({
    san: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Names and addresses that it covers besides those of the current one.'
      })
    )
  }),
  async run({ api, args, print }) {
    const rotated = await api.call('POST /v1/settings/certificate/rotate', {
      body: { names: args.san ?? [] }
    })
    print.data(rotated)
    if (rotated.state === 'current') return
    const { waiting, waiting_for: clients } = await api.call('GET /v1/settings/certificate')
    const names = clients.map(({ name }) => name).slice(0, 20)
    if (waiting > 0)
      print.note(`The server switches once these clients have connected (${waiting}): ${names.join(', ')}`)
    print.note('Codes that were made before the switch then no longer work: make them again.')
  }
})

export const commands = [show, reissue, rotate, activate]
