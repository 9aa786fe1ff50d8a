import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

interface Props {
  readonly to: string
  readonly title?: string
  readonly size?: 'sm' | 'md'
  readonly children: ReactNode
}

/** A link to a page of the console. */
export const PageLink = ({ to, title, size = 'sm', children }: Props) => (
  <Anchor component={Link} href={to} size={size} title={title}>
    {children}
  </Anchor>
)
