// What the commands of the certificate do. It is loaded by them alone: other commands start without the store.
import { join } from 'node:path'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { placeOf } from '../../kernel/store/sql/database.ts'
import { showCertificate } from './certificate-status.ts'
import { openCertificateStore } from './certificate-store.ts'
import { renewLost } from './lost-certificate.ts'
import { namesOf, Rotation } from './rotation.ts'
import { certificateSettings } from './settings.ts'

type Call = CommandCall<object>

export async function show(call: Call): Promise<void> {
  const [dir, keys] = [call.dataDir(), call.keys()]
  const place = placeOf(keys, join(dir, 'sluice.db'))
  const shown = await showCertificate(dir, certificateSettings(keys), place)
  call.print.data({ ...shown, waiting_for: shown.waiting_for.map(({ name }) => name) })
}

export async function reissue(call: Call, ...[source, how]: Parameters<Rotation['reissue']>): Promise<void> {
  const rotation = await rotationOf(call)
  call.print.data(await rotation.reissue(source, how))
  if (how === 'rotate') call.print.line('Start the server: clients learn it as they connect. See cert show.')
}

export async function activate(call: Call, isForced: boolean): Promise<void> {
  const { fingerprint, lost, isShadowed } = await rotationOf(call).then(
    rotation => rotation.activate(isForced ? 'force' : 'careful'),
    error => (isForced ? renewLost(error, call) : Promise.reject(error))
  )
  call.print.data({ fingerprint, lost })
  if (lost.length > 0) call.print.line(`To be enrolled again: ${namesOf(lost)}`)
  if (isShadowed) call.print.line('tls_cert_path still names another certificate: point it at the new one')
}

async function rotationOf(call: Pick<Call, 'open' | 'dataDir' | 'keys'>) {
  const { store, log } = await call.open('certificate')
  const keep = await openCertificateStore({ dir: call.dataDir(), store, log })
  return new Rotation({ keep, settings: certificateSettings(call.keys()), store })
}
