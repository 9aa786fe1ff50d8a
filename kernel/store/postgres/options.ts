import type { DatabaseOptions, PostgresPlace } from '../sql/database.ts'
import { StoreDriver } from './connection.ts'
import { PostgresEntityManager } from './entity-manager.ts'

/** `isAlone`: no other server may use the database meanwhile. */
export const optionsOf = (place: PostgresPlace, isAlone: boolean): DatabaseOptions => ({
  driver: StoreDriver,
  entityManager: PostgresEntityManager,
  dbName: decodeURIComponent(new URL(place.url).pathname.slice(1)),
  driverOptions: { ...place, isAlone }
})
