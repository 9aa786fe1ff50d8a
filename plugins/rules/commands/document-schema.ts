import type { Kernel } from '../../../kernel/plugin.ts'
import type { DocumentSchema } from '../../http/exports.ts'
import { createErrors } from '../api/route-errors.ts'
import { type DefinitionBody, documentBody, fieldsIn, viewsIn } from '../api/schema.ts'
import type { RulesService } from '../rules.ts'

interface Deps extends Pick<Kernel, 'filled'> {
  readonly rules: Pick<RulesService, 'normalize'>
}

/** Rules in the document of `apply`. */
export const documentSchema = ({ filled, rules }: Deps): DocumentSchema => ({
  name: 'rules',
  entry: () => documentBody(filled),
  normalize: (entry, principal) => rules.normalize(entry as DefinitionBody, principal), // by the schema
  errors: () => createErrors(filled),
  defaults() {
    const absent = fieldsIn(filled).flatMap(({ key, absent }) =>
      absent === undefined ? [] : [[key, absent]]
    )
    return { prefer_ipv6: false, paused: false, ...Object.fromEntries(absent) }
  },
  readOnly: () => ['port_end', ...viewsIn(filled).map(({ key }) => key)].map(key => `targets.${key}`),
  distinguishing: () => fieldsIn(filled).flatMap(({ key, distinguishes }) => (distinguishes ? [key] : []))
})
