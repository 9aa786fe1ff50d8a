// Checks for the agents: the certificate that they pin, whether the endpoint answers, and their versions.
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { systemClock } from '../../kernel/base/clock.ts'
import { ownVersion } from '../../kernel/base/version.ts'
import { isAtLeast } from '../../kernel/base/version-range.ts'
import { alpn } from '../../kernel/wire/control.ts'
import { endpointFault } from '../advertised-endpoint/exports.ts'
import { type Certificate, currentCertificate, fingerprintOf } from '../control/exports.ts'
import type { DoctorCheck, DoctorContext, Finding } from './exports.ts'
import { queryStore } from './query-store.ts'

const connectTimeoutMs = 5_000

export const certificate: DoctorCheck = {
  name: 'certificate',
  async run({ dataDir, keys }) {
    const current = currentCertificate(dataDir, keys)
    if (!current) return { status: 'ok', message: 'the first start creates one' }
    const values = await queryStore<{ name: string; value: string }>(
      dataDir,
      'kernel_fact',
      "select name, value from kernel_fact where name in ('leaf', 'next_leaf')"
    )
    const stored = (wanted: string): string | undefined => values.find(({ name }) => name === wanted)?.value
    const pinned = stored('leaf')
    if (pinned !== undefined && pinned !== current.fingerprint)
      return {
        status: 'fail',
        message: `agents pin ${pinned}, and the certificate is ${current.fingerprint}`,
        remedy: 'see sluice cert show, and cert activate'
      }
    if (stored('next_leaf') !== undefined)
      return {
        status: 'warn',
        message: 'another certificate waits to be activated',
        remedy: 'when waiting_for of cert show is empty, stop the server and run sluice cert activate'
      }
    if (new X509Certificate(current.cert).validToDate.getTime() < systemClock.now())
      return {
        status: 'warn',
        message: 'it has expired; agents check only the pin',
        remedy: 'rotate it when convenient: sluice cert reissue --rotate'
      }
    return { status: 'ok', message: current.fingerprint }
  }
}

export const endpoint: DoctorCheck = {
  name: 'endpoint',
  async run(context) {
    const { dataDir, keys, isRunning } = context
    const current = currentCertificate(dataDir, keys)
    const wanted = await endpointOf(context)
    if (!current) return { status: 'ok', message: 'checked once there is a certificate' }
    if (wanted === null)
      return {
        status: 'warn',
        message: 'no endpoint is given: only agents of this machine can be enrolled',
        remedy: 'give advertised_endpoint, or run sluice settings set-endpoint HOST:PORT'
      }
    const fault = endpointFault(wanted, current.cert)
    if (fault)
      return { status: 'fail', message: fault.message, remedy: 'see sluice cert reissue --san, and settings' }
    if (!isRunning)
      return { status: 'ok', message: `${wanted} is covered by the certificate; not tried: no server runs` }
    return connectTo(wanted, current)
  }
}

async function endpointOf({ dataDir, keys }: DoctorContext): Promise<string | null> {
  const [row] = await queryStore<{ endpoint: string }>(
    dataDir,
    'advertised_endpoint',
    'select endpoint from advertised_endpoint'
  )
  return row?.endpoint ?? (String(keys['advertised_endpoint'] ?? '') || null)
}

function connectTo(endpoint: string, { fingerprint }: Certificate): Promise<Finding> {
  const [host = '', port = ''] = endpoint.split(':')
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const socket = connect({ host, port: Number(port), ALPNProtocols: [alpn], rejectUnauthorized: false })
  const remedy =
    'check name, firewall, port forwarding and control_listen; some networks block only incoming connections'
  const fail = (why: string): void => resolve({ status: 'fail', message: `${endpoint}: ${why}`, remedy })
  socket.setTimeout(connectTimeoutMs, () => fail(`no answer within ${connectTimeoutMs / 1000} s`))
  socket.once('error', error => fail(error.message))
  socket.once('secureConnect', () => {
    const presented = socket.getPeerX509Certificate()
    if (presented && fingerprintOf(presented) === fingerprint)
      resolve({ status: 'ok', message: `${endpoint} answers with our certificate` })
    else fail('another server answers there')
  })
  return promise.finally(() => socket.destroy())
}

export const agents: DoctorCheck = {
  name: 'agents',
  async run({ dataDir }) {
    const rows = await queryStore<{ name: string; agent_version: string | null }>(
      dataDir,
      'kernel_client',
      'select name, agent_version from kernel_client where revoked_at is null order by name'
    )
    const ours = ownVersion()
    const older = rows.filter(({ agent_version: version }) => version !== null && !isAtLeast(version, ours))
    if (older.length === 0)
      return { status: 'ok', message: `${rows.length} enrolled, none older than ${ours}` }
    return {
      status: 'warn',
      message: `older than this server: ${older.map(({ name, agent_version }) => `${name} ${agent_version}`).join(', ')}`,
      remedy: 'update them: the server refuses what they do not support'
    }
  }
}
