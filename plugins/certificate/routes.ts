import { type Static, Type } from 'typebox'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { isSanName } from './certificate-names.ts'
import { storeValue, unawareClients } from './certificate-pins.ts'
import { describeCertificate } from './certificate-status.ts'
import type { LiveRotation, Rotated } from './live-rotation.ts'
import type { keys } from './settings.ts'

interface RotationDeps extends Kernel<typeof keys> {
  readonly liveRotation: LiveRotation
}

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
  access: 'viewer',
  summary: 'Returns the certificate that agents pin, and the progress of a rotation.',
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

const rotate = defineRoute({
  method: 'POST',
  url: '/v1/settings/certificate/rotate',
  action: 'certificate.rotate',
  access: 'superadmin',
  summary: 'Replaces the self-made certificate.',
  description:
    'The new one covers the hosts of the old one, of the configured endpoints, and these. If nobody pins the old one, it is ' +
    'replaced at once. Otherwise the new one is staged, and the server switches when all enrolled clients trust it.',
  schema: () => ({
    body: closed({
      names: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
          maxItems: 32,
          description: 'Hosts that it covers besides: names, perhaps with a leading `*.`, or addresses.',
          examples: [['sluice.example.com']]
        })
      )
    }),
    reply: closed({
      fingerprint: Fingerprint('SHA-256 of the new certificate.'),
      state: Type.Union([Type.Literal('current'), Type.Literal('next')], {
        description: 'next: it waits until all enrolled clients trust it.'
      })
    })
  }),
  async run({ liveRotation }: RotationDeps, { body, change }): Promise<Rotated> {
    const names = (body.names ?? []).map(name => name.toLowerCase())
    const wrong = names.findIndex(name => !isSanName(name))
    if (wrong >= 0) throw invalidName(wrong, names[wrong])
    const rotated = await change({ kind: 'settings', id: 'certificate' }, em =>
      liveRotation.rotate(names, em)
    )
    await liveRotation.announce()
    return rotated
  }
})

const invalidName = (index: number, name: string | undefined): Fault =>
  new Fault(
    invalidSchema,
    `/names/${index} must be an address or a DNS name, with or without a leading *., got ${JSON.stringify(name)}`,
    { details: { field: `/names/${index}`, reason: 'format' } }
  )

export const routes = [read, rotate]
