create database shop;
use shop;
create table categories (id int primary key, name varchar(40) not null);
create table users (id int primary key, name varchar(20) not null, rating int not null);
create table items (id int primary key, category int not null, seller int not null, name varchar(40) not null,
  description text not null, price int not null, bids int not null, ends int not null,
  key (category, ends), key (seller));
create table bids (id int auto_increment primary key, item int not null, user int not null, amount int not null,
  key (item, amount), key (user));
insert into categories select seq, concat('Category ', seq) from seq_1_to_20;
insert into users select seq, concat('user', seq), seq * 7919 % 10 from seq_1_to_{items};
insert into items select seq, 1 + seq % 20, 1 + seq * 7919 % {items}, concat('Item ', seq),
  repeat(concat(md5(seq), ' '), 1 + seq * 31 % 60), 100 + seq % 900 + 5, 5, seq * 104729 % 1000003 from seq_1_to_{items};
insert into bids (item, user, amount) select i.id, 1 + (i.id * 31 + n.seq * 17) % {items}, i.price - 5 + n.seq
  from items i join seq_1_to_5 n order by i.id, n.seq;
