import { join } from 'node:path'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { placeOf } from '../../kernel/store/sql/database.ts'
import { openKeep } from './keep.ts'
import { renewLost } from './lost-certificate.ts'
import { namesOf, Rotation } from './rotation.ts'
import { certificateSettings } from './settings.ts'
import { showCertificate } from './show.ts'

const show = defineCommand({
  name: 'cert show',
  summary: 'Show the certificate that agents pin, and the next one; the server may run.',
  needs: 'data',
  async run(call) {
    const [dir, keys] = [call.dataDir(), call.keys()]
    const place = placeOf(keys, join(dir, 'sluice.db'))
    const shown = await showCertificate(dir, certificateSettings(keys), place)
    call.print.data({ ...shown, waiting_for: shown.waiting_for.map(({ name }) => name) })
  }
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
    const rotation = await rotationOf(call)
    call.print.data(await rotation.reissue(source, rotate === true ? 'rotate' : 'replace'))
    if (rotate === true) call.print.line('Start the server: clients learn it as they connect. See cert show.')
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
  async run(call) {
    const isForced = call.args.force === true
    const { fingerprint, lost, isShadowed } = await rotationOf(call).then(
      rotation => rotation.activate(isForced ? 'force' : 'careful'),
      error => (isForced ? renewLost(error, call) : Promise.reject(error))
    )
    call.print.data({ fingerprint, lost })
    if (lost.length > 0) call.print.line(`To be enrolled again: ${namesOf(lost)}`)
    if (isShadowed) call.print.line('tls_cert_path still names another certificate: point it at the new one')
  }
})

const servers = defineCommand({
  name: 'store servers',
  summary: 'List the servers of the store, and what each does for all.',
  run: async ({ api, print }) =>
    print.data(await api.call('GET /v1/servers'), [
      'server_id',
      'version',
      'started_at',
      'last_seen_at',
      'sessions',
      'leader_of'
    ])
})

export const commands = [show, reissue, activate, servers]

async function rotationOf(call: Pick<CommandCall<object>, 'open' | 'dataDir' | 'keys'>) {
  const { store, log } = await call.open('control')
  const keep = await openKeep({ dir: call.dataDir(), store, log })
  return new Rotation({ keep, settings: certificateSettings(call.keys()), store })
}
