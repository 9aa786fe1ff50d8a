import { PageLink } from '../../parts/page/PageLink.tsx'

export const UserLink = ({ id }: { readonly id: string }) => <PageLink to={`/users/${id}`}>{id}</PageLink>
