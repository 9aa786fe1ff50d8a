import type { DatabaseOptions, PostgresPlace } from '../sql/database.ts'
import { StoreDriver } from './connection.ts'
import { PostgresEntityManager } from './entity-manager.ts'

/** `isAlone` excludes other servers from the database. */
export const optionsOf = (place: PostgresPlace, isAlone: boolean): DatabaseOptions => ({
  driver: StoreDriver,
  entityManager: PostgresEntityManager,
  dbName: decodeURIComponent(new URL(place.url).pathname.slice(1)),
  driverOptions: { ...place, isAlone }
})
