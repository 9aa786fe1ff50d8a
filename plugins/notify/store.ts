import type { Store } from '../../kernel/store/sql/migrations.ts'
import {
  NotifyChannel,
  NotifyDelivery,
  NotifyExpiry,
  NotifyMessage,
  NotifyObject,
  NotifyPart,
  NotifyRule
} from './entities.ts'
import { Notify0001 } from './migrations/0001-notify.ts'

export const store: Store = {
  entities: [
    NotifyObject,
    NotifyMessage,
    NotifyPart,
    NotifyDelivery,
    NotifyRule,
    NotifyExpiry,
    NotifyChannel
  ],
  migrations: [{ name: '0001-notify', class: Notify0001 }]
}
