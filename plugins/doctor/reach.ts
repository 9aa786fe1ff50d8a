// What concerns the agents: the leaf that they pin, the way to it, and who they are.
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { isAtLeast, ownVersion } from '../../kernel/base/version.ts'
import { alpn } from '../../kernel/wire/control.ts'
import { judge } from '../advertised-endpoint/exports.ts'
import { type Certificate, currentCertificate, fingerprintOf } from '../control/exports.ts'
import { onStore } from './ask.ts'
import type { DoctorCheck, Finding, Place } from './exports.ts'

const reachMs = 5_000

export const certificate: DoctorCheck = {
  name: 'certificate',
  async run({ dataDir, keys }) {
    const leaf = currentCertificate(dataDir, keys)
    if (!leaf) return { is: 'ok', says: 'the first start makes one' }
    const facts = await onStore<{ name: string; value: string }>(
      dataDir,
      'kernel_fact',
      "select name, value from kernel_fact where name in ('leaf', 'next_leaf')"
    )
    const fact = (wanted: string): string | undefined => facts.find(({ name }) => name === wanted)?.value
    const pinned = fact('leaf')
    if (pinned !== undefined && pinned !== leaf.fingerprint)
      return {
        is: 'fail',
        says: `agents pin ${pinned}, and the certificate is ${leaf.fingerprint}`,
        remedy: 'see sluice cert show, and cert activate'
      }
    if (fact('next_leaf') !== undefined)
      return {
        is: 'warn',
        says: 'another certificate waits to be activated',
        remedy: 'when cert show waits for nobody, stop the server and run sluice cert activate'
      }
    if (new X509Certificate(leaf.cert).validToDate.getTime() < Date.now())
      return {
        is: 'warn',
        says: 'its dates are over; agents judge the pin alone',
        remedy: 'rotate it when there is time: sluice cert reissue --rotate'
      }
    return { is: 'ok', says: leaf.fingerprint }
  }
}

export const endpoint: DoctorCheck = {
  name: 'endpoint',
  async run(place) {
    const { dataDir, keys, isRunning } = place
    const leaf = currentCertificate(dataDir, keys)
    const wanted = await endpointOf(place)
    if (!leaf) return { is: 'ok', says: 'judged when there is a certificate' }
    if (wanted === null)
      return {
        is: 'warn',
        says: 'no endpoint is given: only agents of this machine can be enrolled',
        remedy: 'give advertised_endpoint, or run sluice settings set-endpoint HOST:PORT'
      }
    const fault = judge(wanted, leaf.cert)
    if (fault)
      return { is: 'fail', says: fault.message, remedy: 'see sluice cert reissue --san, and settings' }
    if (!isRunning)
      return { is: 'ok', says: `${wanted} is covered by the certificate; not tried: no server runs` }
    return reach(wanted, leaf)
  }
}

async function endpointOf({ dataDir, keys }: Place): Promise<string | null> {
  const [row] = await onStore<{ endpoint: string }>(
    dataDir,
    'advertised_endpoint',
    'select endpoint from advertised_endpoint'
  )
  return row?.endpoint ?? (String(keys['advertised_endpoint'] ?? '') || null)
}

function reach(endpoint: string, { fingerprint }: Certificate): Promise<Finding> {
  const [host = '', port = ''] = endpoint.split(':')
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const socket = connect({ host, port: Number(port), ALPNProtocols: [alpn], rejectUnauthorized: false })
  const remedy =
    'open the way: name, firewall, port forwarding, control_listen; some networks bar only the way in'
  const lost = (why: string): void => resolve({ is: 'fail', says: `${endpoint}: ${why}`, remedy })
  socket.setTimeout(reachMs, () => lost(`no answer within ${reachMs / 1000} s`))
  socket.once('error', error => lost(error.message))
  socket.once('secureConnect', () => {
    const shown = socket.getPeerX509Certificate()
    if (shown && fingerprintOf(shown) === fingerprint)
      resolve({ is: 'ok', says: `${endpoint} answers with our certificate` })
    else lost('another server answers there')
  })
  return promise.finally(() => socket.destroy())
}

export const agents: DoctorCheck = {
  name: 'agents',
  async run({ dataDir }) {
    const rows = await onStore<{ name: string; agent_version: string | null }>(
      dataDir,
      'kernel_client',
      'select name, agent_version from kernel_client where revoked_at is null order by name'
    )
    const ours = ownVersion()
    const older = rows.filter(({ agent_version: version }) => version !== null && !isAtLeast(version, ours))
    if (older.length === 0) return { is: 'ok', says: `${rows.length} enrolled, none older than ${ours}` }
    return {
      is: 'warn',
      says: `older than this server: ${older.map(({ name, agent_version }) => `${name} ${agent_version}`).join(', ')}`,
      remedy: 'update them: what they cannot do is refused for them'
    }
  }
}
