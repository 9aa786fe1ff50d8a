import { useQuery } from '@tanstack/react-query'
import { type Row, rows, versioned } from '../../api/call.ts'
import { text } from '../../text/text.ts'

export type User = Row<'GET /v1/users'>

export const useUsers = () => useQuery({ queryKey: ['users'], queryFn: () => rows('GET /v1/users') })

export const readUser = (user_id: string) => versioned('GET /v1/users/{user_id}', { path: { user_id } })

export const useUser = (user_id: string) =>
  useQuery({ queryKey: ['user', user_id], queryFn: () => readUser(user_id) })

export const stateOf = ({ disabled, password_change_required }: User): string =>
  disabled ? text.users.disabled : password_change_required ? text.users.temporary : text.users.enabled
