import { X509Certificate } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { storeValue, unawareClients } from './pinned-certificate.ts'
import type { keys } from './settings.ts'

const Fingerprint = (description: string) => Type.String({ description, examples: ['0'.repeat(64)] })

const maxWaiting = 100

const Certificate = closed(
  {
    fingerprint: Fingerprint('SHA-256 of the certificate, in hex: what agents pin.'),
    source: Type.Union([Type.Literal('given'), Type.Literal('self-made')], {
      description: 'given: from `tls_cert_path`.'
    }),
    subject: Type.String({ description: 'Of the certificate.', examples: ['CN=sluice'] }),
    names: Type.Array(Type.String(), {
      description: 'Hosts that it covers.',
      examples: [['DNS:sluice.example.com']]
    }),
    not_before: timeOf('From when it is valid.'),
    not_after: timeOf('Until when it is valid.'),
    next: orNull(Fingerprint('Of the certificate that is staged as the next one; null: none.')),
    waiting: Type.Integer({
      minimum: 0,
      description: 'Clients that do not trust the next one yet.',
      examples: [0]
    }),
    waiting_for: Type.Array(
      closed({
        client_id: ClientId,
        name: Type.String({ description: 'Of the client.', examples: ['paris'] })
      }),
      { description: `The first ${maxWaiting} of them, by name.` }
    )
  },
  { $id: 'ControlCertificate' }
)
type Certificate = Static<typeof Certificate>

const read = defineRoute({
  method: 'GET',
  url: '/v1/settings/certificate',
  action: 'certificate.read',
  access: 'superadmin',
  summary: 'Returns the certificate that agents pin, and how far a rotation is.',
  description: 'It is changed by `sluice cert` while the server is stopped.',
  schema: () => ({ reply: Certificate, errors: [] }),
  async run({ control, config, store }: Kernel<typeof keys>): Promise<Certificate> {
    const { subject, subjectAltName, validFromDate, validToDate } = new X509Certificate(control.certificate)
    const { next, unaware } = await store.read(async em => {
      const next = await storeValue('next_leaf', em)
      return { next, unaware: next === null ? [] : await unawareClients(next, em) }
    })
    return {
      fingerprint: control.fingerprint,
      source: config.tls_cert_path ? 'given' : 'self-made',
      subject,
      names: (subjectAltName ?? '').split(', ').filter(name => name !== ''),
      not_before: timestamp(validFromDate.getTime()),
      not_after: timestamp(validToDate.getTime()),
      next,
      waiting: unaware.length,
      waiting_for: unaware.slice(0, maxWaiting)
    }
  }
})

export const routes = [read]
