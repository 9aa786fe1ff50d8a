// The certificate that agents pin, and the certificate of the operator API.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { Fault, reasonOf } from '../../../kernel/base/errors.ts'
import { parseListen } from '../../../kernel/platform/listen-fault.ts'
import { isLoopback } from '../../../kernel/platform/network.ts'
import { findServedCertificate } from '../../certificate/exports.ts'
import { defineCheck, type Finding } from '../../cli/check-exports.ts'

const soonMs = 21 * 86_400_000

export const certificate = defineCheck({
  name: 'certificate',
  roles: ['server'],
  findings: {
    'certificate.pin': {
      status: 'fail',
      when: 'agents pin a certificate that the server does not have, so none can connect',
      remedy: 'see sluice cert show and sluice cert activate'
    },
    'certificate.store_key': {
      status: 'fail',
      when: 'the certificate is in the store, but store.key in the data directory cannot decrypt it: the server does not start',
      remedy: 'copy store.key from the data directory of a server that runs on this store'
    },
    'certificate.waiting': {
      status: 'warn',
      when: 'another certificate waits for activation',
      remedy:
        'after sluice cert rotate, wait; otherwise, when waiting_for in sluice cert show is empty, stop the server and run sluice cert activate'
    },
    'certificate.expired': {
      status: 'warn',
      when: 'the certificate has expired; agents check only the pin',
      remedy: 'rotate it when convenient: sluice cert rotate'
    },
    'certificate.expires': {
      status: 'warn',
      when: 'the certificate expires within three weeks; agents check only the pin',
      remedy: 'rotate it when convenient: sluice cert rotate'
    }
  },
  async run({ dir, keys, now, query }) {
    const current = await findServedCertificate({ dir, keys, query })
    if (!current) return [{ ok: 'the first start creates one' }]
    const fault = catchFault(current.requireKey)
    if (fault) return [{ id: 'certificate.store_key', message: fault.message }]
    const values = await query<{ name: string; value: string }>(
      'kernel_store_value',
      "select name, value from kernel_store_value where name in ('leaf', 'next_leaf')"
    )
    const stored = (wanted: string): string | undefined => values.find(({ name }) => name === wanted)?.value
    const pinned = stored('leaf')
    if (pinned !== undefined && pinned !== current.fingerprint)
      return [
        {
          id: 'certificate.pin',
          message: `agents pin ${pinned}, but the certificate is ${current.fingerprint}`
        }
      ]
    if (stored('next_leaf') !== undefined)
      return [{ id: 'certificate.waiting', message: 'another certificate waits for activation' }]
    const end = new X509Certificate(current.cert).validToDate
    if (end.getTime() < now)
      return [{ id: 'certificate.expired', message: `it expired at ${end.toISOString()}` }]
    if (end.getTime() < now + soonMs)
      return [{ id: 'certificate.expires', message: `it expires at ${end.toISOString()}` }]
    return [{ ok: current.fingerprint }]
  }
})

function catchFault(work: () => void): Fault | null {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

type FindingId =
  | 'api.exposed'
  | 'api.certificate_unreadable'
  | 'api.certificate_expired'
  | 'api.certificate_expires'
  | 'api.certificate_name'
  | 'metrics.exposed'

export const api = defineCheck<FindingId>({
  name: 'api',
  roles: ['server'],
  findings: {
    'api.exposed': {
      status: 'fail',
      when: 'the operator API listens beyond loopback without TLS or a trusted proxy: tokens and passwords cross the network unencrypted',
      remedy:
        'set operator_http_tls_cert_path and operator_http_tls_key_path; or listen on loopback; or put a TLS proxy in front and set trusted_proxies'
    },
    'api.certificate_unreadable': {
      status: 'fail',
      when: 'the certificate of the operator API cannot be read',
      remedy: 'correct operator_http_tls_cert_path'
    },
    'api.certificate_expired': {
      status: 'fail',
      when: 'the certificate of the operator API has expired, so browsers and commands refuse it',
      remedy: 'renew it, then systemctl reload sluice-server'
    },
    'api.certificate_expires': {
      status: 'warn',
      when: 'the certificate of the operator API expires within three weeks',
      remedy: 'renew it, then systemctl reload sluice-server'
    },
    'api.certificate_name': {
      status: 'warn',
      when: 'the certificate of the operator API does not cover the name in operator_http_public_origin',
      remedy: 'get a certificate that covers the name, or correct operator_http_public_origin'
    },
    'metrics.exposed': {
      status: 'warn',
      when: 'the metrics, which need no authentication, are served beyond loopback',
      remedy: 'set metrics_listen to a loopback address, or let a firewall admit only Prometheus'
    }
  },
  async run({ keys, now }) {
    const path = keys['operator_http_tls_cert_path']
    const hasTrustedProxy = (keys['trusted_proxies'] as readonly string[] | undefined)?.length !== 0
    const found: Finding<FindingId>[] = []
    const listen = String(keys['operator_http_listen'])
    if (!isLoopback(hostOf(listen)) && path === undefined && !hasTrustedProxy)
      found.push({ id: 'api.exposed', message: `operator_http_listen is ${listen}, without TLS` })
    const metrics = String(keys['metrics_listen'])
    if (!isLoopback(hostOf(metrics)))
      found.push({ id: 'metrics.exposed', message: `metrics_listen is ${metrics}` })
    if (typeof path === 'string')
      found.push(...checkApiCertificate(path, keys['operator_http_public_origin'], now))
    return found.length > 0 ? found : [{ ok: `the operator API listens on ${listen}` }]
  }
})

function checkApiCertificate(path: string, origin: unknown, now: number): Finding<FindingId>[] {
  let own: X509Certificate
  try {
    own = new X509Certificate(readFileSync(path))
  } catch (error) {
    return [{ id: 'api.certificate_unreadable', message: `${path}: ${reasonOf(error)}` }]
  }
  const end = own.validToDate
  const found: Finding<FindingId>[] = []
  if (end.getTime() < now)
    found.push({ id: 'api.certificate_expired', message: `${path} expired at ${end.toISOString()}` })
  else if (end.getTime() < now + soonMs)
    found.push({ id: 'api.certificate_expires', message: `${path} expires at ${end.toISOString()}` })
  const name = typeof origin === 'string' ? new URL(origin).hostname : null
  const covers = (name: string) => (isIP(name) === 0 ? own.checkHost(name) : own.checkIP(name)) !== undefined
  if (name !== null && !covers(name.replace(/^\[|\]$/g, '')))
    found.push({ id: 'api.certificate_name', message: `${path} does not cover ${name}` })
  return found
}

const hostOf = (listen: string): string => parseListen(listen).host
