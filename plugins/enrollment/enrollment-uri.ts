import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { namedCertificates } from '../certificate/exports.ts'

/** Returns the fingerprint of the certificate that new URIs pin. A change before this one may have replaced it. */
export const currentPin = async (
  { fingerprint }: Pick<Kernel['control'], 'fingerprint'>,
  em: EntityManager
): Promise<string> => (await namedCertificates(em)).leaf ?? fingerprint

/** Returns the URI that `agent enroll` takes. `endpoints` has at least one; the agent tries them in this order. */
export function enrollmentUri(endpoints: readonly string[], pin: string, code: string): string {
  const [first = '', ...others] = endpoints
  const also = others.map(other => `&also=${other}`).join('')
  return `svc://${first}/enroll?pin=sha256:${pin}&code=${code}${also}`
}
