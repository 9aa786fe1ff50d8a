import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { PageHead } from '../parts/PageHead.tsx'
import { text } from '../text/text.ts'

export const NotFound = () => (
  <>
    <PageHead title={text.notFound} />
    <Anchor component={Link} href="/">
      {text.toOverview}
    </Anchor>
  </>
)
