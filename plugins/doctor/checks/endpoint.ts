// The endpoint: can agents reach the server at the address that enrollment gives them?

import { connect } from 'node:tls'
import { parseListen } from '../../../kernel/platform/listen-fault.ts'
import { isLoopback } from '../../../kernel/platform/network.ts'
import { alpn } from '../../../kernel/wire/control.ts'
import { endpointFault } from '../../advertised-endpoint/exports.ts'
import {
  endpointsIn,
  findServedCertificate,
  fingerprintOf,
  type ServedCertificate
} from '../../certificate/exports.ts'
import { type DoctorContext, defineCheck, type Finding } from '../../cli/check-exports.ts'

const connectTimeoutMs = 5_000

type FindingId =
  | 'endpoint.missing'
  | 'endpoint.loopback'
  | 'endpoint.unusable'
  | 'endpoint.silent'
  | 'endpoint.other_server'

export const endpoint = defineCheck<FindingId>({
  name: 'endpoint',
  roles: ['server'],
  findings: {
    'endpoint.missing': {
      status: 'warn',
      when: 'no endpoint is configured, so only agents on this host can enroll',
      remedy: 'set advertised_endpoint, or run sluice settings set-endpoint HOST:PORT'
    },
    'endpoint.loopback': {
      status: 'warn',
      when: 'the endpoint is a loopback address, which agents on other hosts cannot reach',
      remedy:
        'use an address that they can reach: set advertised_endpoint, or run sluice settings set-endpoint HOST:PORT'
    },
    'endpoint.unusable': {
      status: 'fail',
      when: 'the endpoint is not HOST:PORT, or the certificate does not cover its host',
      remedy: 'see sluice cert rotate --san and sluice settings'
    },
    'endpoint.silent': {
      status: 'fail',
      when: 'the server runs, but the endpoint does not answer from this host',
      remedy:
        'check name, firewall, port forwarding and control_listen; some networks block only incoming connections'
    },
    'endpoint.other_server': {
      status: 'fail',
      when: 'the endpoint answers with another certificate',
      remedy: 'check name and port forwarding: agents connect only to a server with the pinned certificate'
    }
  },
  async run(context) {
    const current = await findServedCertificate(context)
    const wanted = await findEndpoints(context)
    if (!current) return [{ ok: 'not checked: there is no certificate yet' }]
    if (wanted.length === 0) return [{ id: 'endpoint.missing', message: 'no endpoint is configured' }]
    return (
      await Promise.all(wanted.map(endpoint => checkEndpoint(endpoint, current, context.isRunning)))
    ).flat()
  }
})

async function checkEndpoint(
  endpoint: string,
  current: ServedCertificate,
  isRunning: boolean
): Promise<Finding<FindingId>[]> {
  const fault = endpointFault(endpoint, current.cert)
  if (fault) return [{ id: 'endpoint.unusable', message: fault.message }]
  const loopback: Finding<FindingId>[] = isLoopback(parseListen(endpoint).host)
    ? [{ id: 'endpoint.loopback', message: `agents connect to ${endpoint}` }]
    : []
  return [isRunning ? await connectTo(endpoint, current) : skipConnect(endpoint), ...loopback]
}

const skipConnect = (endpoint: string): Finding<FindingId> => ({
  ok: `the certificate covers ${endpoint}; no connection was tried, because no server runs`
})

async function findEndpoints({ keys, query }: DoctorContext): Promise<string[]> {
  const [row] = await query<{ endpoint: string }>(
    'advertised_endpoint',
    'select endpoint from advertised_endpoint'
  )
  return endpointsIn(row?.endpoint ?? String(keys['advertised_endpoint'] ?? ''))
}

function connectTo(endpoint: string, { fingerprint }: ServedCertificate): Promise<Finding<FindingId>> {
  const [host = '', port = ''] = endpoint.split(':')
  const { promise, resolve } = Promise.withResolvers<Finding<FindingId>>()
  const socket = connect({ host, port: Number(port), ALPNProtocols: [alpn], rejectUnauthorized: false })
  const silent = (why: string): void => resolve({ id: 'endpoint.silent', message: `${endpoint}: ${why}` })
  socket.setTimeout(connectTimeoutMs, () => silent(`no answer within ${connectTimeoutMs / 1000} s`))
  socket.once('error', error => silent(error.message))
  socket.once('secureConnect', () => {
    const presented = socket.getPeerX509Certificate()
    if (presented && fingerprintOf(presented) === fingerprint)
      resolve({ ok: `${endpoint} answers with our certificate` })
    else resolve({ id: 'endpoint.other_server', message: `another server answers at ${endpoint}` })
  })
  return promise.finally(() => socket.destroy())
}
