import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

interface Props {
  readonly to: string
  readonly title?: string
  readonly children: ReactNode
}

/** A small link to a page of the console. */
export const PageLink = ({ to, title, children }: Props) => (
  <Anchor component={Link} href={to} size="sm" title={title}>
    {children}
  </Anchor>
)
