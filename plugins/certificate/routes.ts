import { type Static, Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { storeValue, unawareClients } from './certificate-pins.ts'
import { describeCertificate } from './certificate-status.ts'
import type { keys } from './settings.ts'

const Fingerprint = (description: string) => Type.String({ description, examples: ['0'.repeat(64)] })

const maxWaiting = 100

const Certificate = closed(
  {
    fingerprint: Fingerprint('SHA-256 of the certificate, in hex: what agents pin.'),
    source: Type.Union([Type.Literal('given'), Type.Literal('self-made')], {
      description: 'given: from `tls_cert_path`.'
    }),
    subject: Type.String({ description: 'Subject of the certificate.', examples: ['CN=sluice'] }),
    names: Type.Array(Type.String(), {
      description: 'Hosts that the certificate covers.',
      examples: [['DNS:sluice.example.com']]
    }),
    not_before: timeOf('Start of its validity.'),
    not_after: timeOf('End of its validity.'),
    next: orNull(Fingerprint('SHA-256 of the staged certificate; null: none is staged.')),
    waiting: Type.Integer({
      minimum: 0,
      description: 'Number of clients that do not trust the staged certificate yet.',
      examples: [0]
    }),
    waiting_for: Type.Array(
      closed({
        client_id: ClientId,
        name: Type.String({ description: 'Name of the client.', examples: ['paris'] })
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
  summary: 'Returns the certificate that agents pin, and the progress of a rotation.',
  description: 'To change it, stop the server and run `sluice cert`.',
  schema: () => ({ reply: Certificate, errors: [] }),
  async run({ control, config, store }: Kernel<typeof keys>): Promise<Certificate> {
    const { next, unaware } = await store.read(async em => {
      const next = await storeValue('next_leaf', em)
      return { next, unaware: next === null ? [] : await unawareClients(next, em) }
    })
    return {
      ...describeCertificate(control.certificate),
      source: config.tls_cert_path ? 'given' : 'self-made',
      next,
      waiting: unaware.length,
      waiting_for: unaware.slice(0, maxWaiting)
    }
  }
})

export const routes = [read]
