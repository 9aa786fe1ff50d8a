import { EmptyState } from '../EmptyState.tsx'
import { PageHead } from './PageHead.tsx'
import { PageLink } from './PageLink.tsx'

interface Props {
  readonly title: string // of the list
  readonly to: string // the list
  readonly what: string
}

/** Replaces the page of a record that does not exist. */
export const MissingRecord = ({ title, to, what }: Props) => (
  <>
    <PageHead title={title} />
    <EmptyState what={what}>
      <PageLink to={to} size="md">
        {title}
      </PageLink>
    </EmptyState>
  </>
)
