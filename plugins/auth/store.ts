import { Failures, KnownAddress, Password, Session } from './entities.ts'
import { Auth0001 } from './migrations/0001-auth.ts'

export const store = {
  entities: [Password, Session, KnownAddress, Failures],
  migrations: [{ name: '0001-auth', class: Auth0001 }]
}
