import { Anchor } from '@mantine/core'
import { Link } from 'wouter'

export const UserLink = ({ id }: { readonly id: string }) => (
  <Anchor component={Link} href={`/users/${id}`} size="sm">
    {id}
  </Anchor>
)
