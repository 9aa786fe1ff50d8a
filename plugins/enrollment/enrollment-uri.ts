import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { namedCertificates } from '../certificate/exports.ts'

interface Pinned {
  readonly control: Pick<Kernel['control'], 'fingerprint'>
  readonly em: EntityManager
}

/**
 * Returns the URI that `agent enroll` takes, with the certificate's pin. `endpoints` has at least one; the agent tries them in
 * this order.
 */
export async function enrollmentUri(
  endpoints: readonly string[],
  code: string,
  { control, em }: Pinned
): Promise<string> {
  const pin = (await namedCertificates(em)).leaf ?? control.fingerprint // a change before this one may have replaced it
  const [first = '', ...others] = endpoints
  const also = others.map(other => `&also=${other}`).join('')
  return `svc://${first}/enroll?pin=sha256:${pin}&code=${code}${also}`
}
