import type { Kernel } from '../../../kernel/plugin.ts'
import type { DocumentSchema } from '../../http/exports.ts'
import { documentBody, fieldsIn } from '../api/schema.ts'

/** Rules in the document of `apply`. */
export const documentSchema = ({ filled }: Pick<Kernel, 'filled'>): DocumentSchema => ({
  name: 'rules',
  entry: () => documentBody(filled),
  defaults() {
    const absent = fieldsIn(filled).flatMap(({ key, absent }) =>
      absent === undefined ? [] : [[key, absent]]
    )
    return { prefer_ipv6: false, paused: false, ...Object.fromEntries(absent) }
  },
  distinguishing: () => fieldsIn(filled).flatMap(({ key, distinguishes }) => (distinguishes ? [key] : []))
})
