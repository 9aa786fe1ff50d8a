import type { Kernel } from '../../kernel/plugin.ts'
import { openCreate } from './create.ts'
import { openDelivery } from './delivery.ts'
import { openFields } from './fields.ts'
import { openMissingParts } from './missing-parts.ts'
import { openPlacing } from './placing.ts'
import { queries } from './queries.ts'
import { openReading } from './reading.ts'
import { openRecords } from './records.ts'
import { openRefresh } from './refresh.ts'
import { openRemoval } from './remove.ts'
import { openRuleStates } from './rule-states.ts'
import type { keys } from './settings.ts'
import { openUpdate } from './update.ts'

/** The service as this plugin itself uses it; other plugins see `Rules`. */
export type RulesService = ReturnType<typeof openRules>

export function openRules({ config, store, clock, control, codec, log, filled }: Kernel<typeof keys>) {
  const fields = openFields(filled, codec)
  const reading = openReading({ store }, openRecords(filled, fields))
  const placing = openPlacing(filled)
  const states = openRuleStates({ control, clock, log, filled })
  return {
    ...reading,
    ...queries,
    ...openDelivery({ store, control, log, filled, fields, states }),
    ...openMissingParts({ store, control, fields, states }),
    ...openRemoval({ control, reading, states }),
    create: openCreate({ config, store, clock, control, filled, fields, placing, reading }),
    update: openUpdate({ store, clock, control, fields, reading }),
    refresh: openRefresh(control, fields)
  }
}
